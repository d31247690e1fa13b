-- Records of a chunk that were answered whole when a cancel settled it; null where it was settled in full.
alter table chunks add column done_count integer;
