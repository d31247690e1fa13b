-- Which account had the free credits of a mailbox, named by an HMAC: who closes it and signs up anew has others no
-- sooner than who stays. Accounts are never deleted, so no foreign key is needed to keep them there.
create table free_mailboxes (
  digest text primary key,
  account_id text not null
);
create index free_mailboxes_account on free_mailboxes (account_id);
create index accounts_closed on accounts (status_at) where status = 'closed';

-- Whether the first cycle of an account begins without credits.
alter table accounts add column if not exists opens_empty boolean not null default false;
