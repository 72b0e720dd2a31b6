"""Files on disk that must survive a kill or a power cut: durable writes, locks, run folders."""
