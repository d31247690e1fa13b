-- Answers that show a batch are emptied with it: `body` is then the empty text, which no answer is.
alter table idempotency_keys add column batch_id text;

create index idempotency_keys_batch on idempotency_keys (batch_id) where batch_id is not null;
