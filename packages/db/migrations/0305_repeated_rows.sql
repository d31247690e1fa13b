-- One bit a row, set where a later row repeats it: 625 KB for the longest list, which every look at a batch
-- brought along while they stood in its row.
create table repeated_rows (
  batch_id text primary key references batches (id) on delete cascade,
  bits bytea not null
);
insert into repeated_rows (batch_id, bits)
select id, repeated from batches where repeated is not null;
alter table batches drop column repeated;
