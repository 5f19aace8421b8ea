"""What people look at: contact sheets and films."""
