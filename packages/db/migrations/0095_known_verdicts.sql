-- Rows that another service has judged lately; they are kept as they came, neither asked nor charged.
alter table batches add column rows_known bigint not null default 0;
-- By whose export, its columns, and which of such rows are asked all the same.
alter table batches add column known jsonb;
