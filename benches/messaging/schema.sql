-- An inbox as one writes it in PostgreSQL: idempotency record, thread, message, delivery and the recipient's counter in one
-- durable transaction.
create table agents (
    id bigint primary key,
    name text not null unique,
    last_seq bigint not null default 0
);
create table threads (
    id bigint generated always as identity primary key,
    subject text not null,
    message_count bigint not null default 0,
    last_message_at timestamptz not null default now()
);
create table messages (
    id bigint generated always as identity primary key,
    thread_id bigint not null references threads,
    sender_id bigint not null references agents,
    subject text not null,
    body text not null,
    created_at timestamptz not null default now()
);
create index messages_of_thread on messages (thread_id, id);
create table deliveries (
    agent_id bigint not null references agents,
    seq bigint not null,
    message_id bigint not null references messages,
    read_at timestamptz,
    primary key (agent_id, seq)
);
create table answers (
    key text primary key,
    digest bytea not null,
    status smallint not null,
    body text not null,
    answered_at timestamptz not null default now()
);

create function send(the_key text, from_agent bigint, to_agent bigint, the_body text, notifies boolean)
returns text language plpgsql as $$
declare
    answer text;
    the_thread bigint;
    the_message bigint;
    the_seq bigint;
begin
    select body into answer from answers where key = the_key;
    if found then
        return answer;
    end if;
    insert into threads (subject, message_count) values ('bench', 1) returning id into the_thread;
    insert into messages (thread_id, sender_id, subject, body) values (the_thread, from_agent, 'bench', the_body)
        returning id into the_message;
    update agents set last_seq = last_seq + 1 where id = to_agent returning last_seq into the_seq;
    insert into deliveries (agent_id, seq, message_id) values (to_agent, the_seq, the_message);
    answer := json_build_object('id', the_message, 'thread_id', the_thread, 'delivery_count', 1)::text;
    insert into answers (key, digest, status, body) values (the_key, sha256(the_key::bytea), 202, answer);
    if notifies then
        perform pg_notify('agent_' || to_agent, the_seq::text);
    end if;
    return answer;
end
$$;
