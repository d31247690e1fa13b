-- The secret before the old one, while it signs beside both: a secret may be replaced twice in a day.
alter table webhook_endpoints add column older_secret text, add column older_secret_until timestamptz;
