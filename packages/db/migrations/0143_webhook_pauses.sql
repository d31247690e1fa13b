-- When an attempt at an endpoint failed last: after a time without attempts, failures count anew.
alter table webhook_endpoints add column failed_at timestamptz;
