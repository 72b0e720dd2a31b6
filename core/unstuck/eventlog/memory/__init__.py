"""Memory of a project: approaches, findings and answers that outlive a run."""
