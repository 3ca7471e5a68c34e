"""Programs in Java that are no servers."""
