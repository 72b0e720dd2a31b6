"""The fleet over NATS JetStream, for hosts that ssh does not reach. Imported only where it was set up."""
