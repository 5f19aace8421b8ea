"""Bodies, forces, grip, camera rays. Knows nothing of words or reward."""
