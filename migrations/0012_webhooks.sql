-- For readers of the feed who want only some types.
create index event_type on event (type, number);

-- Without events that have no number yet: SQLite would look for them here, among all that an import has staged.
drop index event_number;
create unique index event_number on event (number) where number is not null;
drop index event_unnumbered;
create index event_unnumbered on event (generation, at, type desc, id) where number is null;

-- Where events are sent. `events` is a list with commas, or * for all. What has a number up to `after_number` is not
-- sent. After a rotation the secret before signs too, until `sealed_before_until`.
create table webhook (
  id text primary key,
  url text not null,
  events text not null,
  sealed text not null,
  sealed_before text,
  sealed_before_until bigint,
  after_number bigint not null,
  created_at bigint not null,
  disabled_at bigint,
  disabled_because text,
  failures integer not null default 0
);

-- Deliveries exist for events up to this number.
create table webhook_queue (one integer primary key, queued_to bigint not null);
insert into webhook_queue (one, queued_to) values (1, 0);

-- One event for one endpoint. `line` is the person's id, or empty.
create table webhook_delivery (
  webhook_id text not null,
  number bigint not null,
  line text not null,
  attempts integer not null default 0,
  tried_at bigint,
  status integer,
  error text,
  ended_at bigint,
  outcome text,
  primary key (webhook_id, number)
);
create index webhook_delivery_waiting on webhook_delivery (webhook_id, line, number) where ended_at is null;
create index webhook_delivery_ended on webhook_delivery (ended_at) where ended_at is not null;

-- A line in which deliveries wait. Whoever claims it sends the first of them, so that they go out in order.
create table webhook_line (
  webhook_id text not null,
  line text not null,
  next_at bigint not null,
  claimed_by text,
  primary key (webhook_id, line)
);
create index webhook_line_due on webhook_line (webhook_id, next_at);
