-- What was sent to a process and may not have been heard. Dropped by its reader, or after a minute.
create unlogged table letters (
  box text not null,
  id bigint generated always as identity,
  body text not null,
  posted_at timestamptz not null default now(),
  primary key (box, id)
);

create index letters_posted on letters (posted_at);
