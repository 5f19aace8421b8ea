"""The paper's tables and figures as data; probes; statistics; the report."""
