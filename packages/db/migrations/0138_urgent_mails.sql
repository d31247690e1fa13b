-- outside a transaction
-- Links that somebody waits for are sent before all other messages, and found however many of those wait.
create index concurrently if not exists mails_urgent on mails (next_at)
  where kind in ('verify', 'already_signed_up', 'confirm_email', 'reset');
