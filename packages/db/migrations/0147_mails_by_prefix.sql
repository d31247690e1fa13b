-- outside a transaction
-- The message about a batch that was renamed, by the prefix of its key: compared byte by byte, whatever the collation.
create index concurrently if not exists mails_once_key on mails (once_key collate "C") where once_key is not null;
