-- outside a transaction
-- Endpoints that were disabled and whose owners are to be told: few of all, and looked for every five seconds.
create index concurrently if not exists webhook_endpoints_untold on webhook_endpoints (disabled_at)
  where disabled_reason in ('gone', 'failing') and owners_told_at is null;
