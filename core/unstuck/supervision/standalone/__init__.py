"""Classes of the library that work without a run: FailureHandler, TimeoutMonitor, CheckpointManager."""
