-- What was spent of each budget on each UTC day. Logged: a crash must not make room for more.
create table budgets (
  name text not null,
  day date not null,
  spent bigint not null,
  primary key (name, day)
);

-- Takes up to `asked` of what is left of `most` today: the row is locked before it is judged.
create function take_from_budget(budget text, asked bigint, most bigint)
returns table (taken bigint, spent_on text)
language plpgsql as $$
declare
  today date := (clock_timestamp() at time zone 'utc')::date;
  before bigint;
begin
  loop
    select b.spent into before from budgets b where b.name = budget and b.day = today for update;
    exit when found;
    insert into budgets (name, day, spent) values (budget, today, 0) on conflict do nothing;
  end loop;
  taken := least(asked, greatest(0, most - before));
  spent_on := today::text;
  if taken > 0 then
    update budgets b set spent = before + taken where b.name = budget and b.day = today;
  end if;
  return next;
end
$$;
