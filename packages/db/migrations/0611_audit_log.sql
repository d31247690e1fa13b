-- Administrative acts: who did what, when, and what it changed. Nothing removes a row, so no subject, key
-- or address goes in; accounts are named by id, without a foreign key, and may be erased.
create table audit_log (
  id bigint generated always as identity primary key,
  acted_at timestamptz not null default clock_timestamp(),
  actor text not null check (length(actor) between 1 and 200),
  action text not null check (length(action) between 1 and 100),
  account_id text,
  before jsonb,
  after jsonb
);

create index audit_log_account on audit_log (account_id, id);

create function audit_log_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is append-only: % of audit_log refused', lower(tg_op)
    using errcode = 'restrict_violation';
end $$;

create trigger append_only before update or delete or truncate on audit_log
  for each statement execute function audit_log_append_only();

revoke update, delete, truncate on audit_log from public;
