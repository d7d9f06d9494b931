"""What `looms demo` shows."""
