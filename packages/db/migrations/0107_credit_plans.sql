-- The statements of single calls are planned once for each connection: for a few rows planning took
-- longer than running them, and it could choose nothing else, as index scans are forced.
alter function credit_debit(text[], text[], bigint[]) set plan_cache_mode = force_generic_plan;
alter function credit_close(text[], text[], bigint[], text[], text[])
  set plan_cache_mode = force_generic_plan;
