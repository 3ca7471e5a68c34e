"""Tests of the calibrated server."""
