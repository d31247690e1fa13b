-- How much of a running batch was open at some moments of its last third, by which the time left is told.
alter table batches add column pace jsonb;
