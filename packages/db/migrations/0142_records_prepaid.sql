-- Records of a chunk that a sample has paid for: they are counted as used once.
alter table chunks add column prepaid_records integer not null default 0;
