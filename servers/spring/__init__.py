"""The server in Java: a Spring Boot application on Tomcat, built by Maven."""
