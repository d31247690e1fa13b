-- A state that the service does not know would leave a batch where no stage looks for it.
alter table batches add constraint batches_known_status check (
  status in ('analyzing', 'ready', 'running', 'finalizing', 'completed', 'canceling', 'canceled', 'failed', 'expired')
);
