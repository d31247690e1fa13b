-- outside a transaction
-- Messages that have expired are looked for in each round of the outbox, however many wait while no mail can be sent.
create index concurrently if not exists mails_expires on mails (expires_at);
