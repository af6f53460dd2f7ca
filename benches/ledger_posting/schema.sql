-- A double-entry ledger as one writes it in PostgreSQL: row locks in the order of ids, counters on the accounts, an
-- entry for each leg, an idempotency record, all in one durable transaction.
create table accounts (
    id bigint primary key,
    name text not null,
    debits numeric not null default 0,
    credits numeric not null default 0,
    floor numeric,
    version bigint not null default 0
);
create table transactions (
    id bigint generated always as identity primary key,
    description text,
    state text not null,
    created_at timestamptz not null default now()
);
create table entries (
    transaction_id bigint not null references transactions,
    line_no smallint not null,
    account_id bigint not null references accounts,
    direction text not null,
    amount numeric not null check (amount > 0),
    created_at timestamptz not null default now(),
    primary key (transaction_id, line_no)
);
create index entries_of_account on entries (account_id, transaction_id, line_no);
create table answers (
    key text primary key,
    digest bytea not null,
    status smallint not null,
    body text not null,
    answered_at timestamptz not null default now()
);

create function post(the_key text, debit_account bigint, credit_account bigint, the_amount numeric)
returns text language plpgsql as $$
declare
    answer text;
    the_id bigint;
    one record;
begin
    select body into answer from answers where key = the_key;
    if found then
        return answer;
    end if;
    for one in
        select id, debits, credits, floor from accounts where id in (debit_account, credit_account) order by id for update
    loop
        if one.id = credit_account and one.floor is not null and one.debits - one.credits - the_amount < one.floor then
            raise exception 'INSUFFICIENT_AVAILABLE';
        end if;
    end loop;
    insert into transactions (description, state) values ('bench', 'committed') returning id into the_id;
    insert into entries (transaction_id, line_no, account_id, direction, amount) values
        (the_id, 1, debit_account, 'debit', the_amount), (the_id, 2, credit_account, 'credit', the_amount);
    update accounts set debits = debits + the_amount, version = version + 1 where id = debit_account;
    update accounts set credits = credits + the_amount, version = version + 1 where id = credit_account;
    answer := json_build_object('transaction_id', the_id, 'state', 'committed', 'created_at', now())::text;
    insert into answers (key, digest, status, body) values (the_key, sha256(the_key::bytea), 201, answer);
    return answer;
end
$$;
