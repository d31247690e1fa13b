-- The few accounts for which nothing is begun: asked for in every round of the dispatcher.
create index accounts_resting on accounts (id) where status <> 'active';
