"""What `action.yml` runs: base and head measured live, and the verdict told where people look."""
