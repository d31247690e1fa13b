-- How many tasks of batches a worker takes at once, and how many more for accounts that have none in work. Unset
-- for stages, and of workers that do not tell it.
alter table workers add column if not exists slots integer;
alter table workers add column if not exists reserve integer;
