-- What was found out about a batch's file, beside its encoding: how sure that is (1 where it was told), the
-- sheet of a workbook and all that it has, the file of an archive, and of which type each column's cells are.
alter table batches
  add column encoding_confidence real,
  add column sheet text,
  add column sheets jsonb,
  add column entry text,
  add column column_types jsonb;
