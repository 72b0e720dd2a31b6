"""Messages in which agents tell of trouble of their own: no sign-in, no credit, a model or a service that fails."""
