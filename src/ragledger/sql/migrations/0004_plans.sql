-- How many votes a comparison needs, written down before it is looked at, and every look that was taken.

CREATE TABLE plans (
    plan_id       uuid PRIMARY KEY,
    planned_at    timestamptz NOT NULL,
    planned_by    text NOT NULL,
    project       text,
    corpus        text,
    surface       text,
    epoch         text NOT NULL,
    voter         text NOT NULL,
    k             int4 NOT NULL,
    useful_from   text NOT NULL,
    share_from    float8 NOT NULL,
    share_to      float8 NOT NULL,
    power         float8 NOT NULL,
    alpha         float8 NOT NULL,
    design_effect float8 NOT NULL,
    votes         int8 NOT NULL,
    searches      int8 NOT NULL,
    CONSTRAINT plans_voter CHECK (voter IN ('human', 'agent', 'judge', 'system')),
    CONSTRAINT plans_k CHECK (k >= 1),
    CONSTRAINT plans_votes CHECK (votes >= 1 AND searches >= 1)
);

CREATE INDEX plans_by_epoch ON plans (epoch, planned_at);

CREATE TABLE plan_looks (
    plan_id   uuid NOT NULL,
    look_id   uuid NOT NULL,
    looked_at timestamptz NOT NULL,
    looked_by text NOT NULL,
    other     text NOT NULL,
    votes_a   int8 NOT NULL,
    votes_b   int8 NOT NULL,
    CONSTRAINT plan_looks_pkey PRIMARY KEY (plan_id, look_id)
);
