-- Fingerprint of the key under which shared stores keep what is known of subjects; never the key itself.
create table installation_key (
  only_one boolean primary key default true check (only_one),
  fingerprint text not null,
  noted_at timestamptz not null default now()
);

-- What was kept under subjects in clear text: it cannot be found under the new names.
delete from memory_entries where key like any (array['email:%', 'hlr:verdict:%', 'hlr:intent:%', 'domain:%']);
delete from durable_entries where key like any (array['hlr:verdict:%', 'hlr:intent:%']);
delete from rate_buckets;
delete from leases;
