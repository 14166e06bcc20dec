-- Plans of comparisons and the looks that were taken at them. Rows are only ever added.

-- name: write_plan
INSERT INTO plans (plan_id, planned_at, planned_by, project, corpus, surface, epoch, voter, k, useful_from, share_from,
                   share_to, power, alpha, design_effect, votes, searches)
VALUES (%(plan_id)s, %(planned_at)s, %(planned_by)s, %(project)s, %(corpus)s, %(surface)s, %(epoch)s, %(voter)s, %(k)s,
        %(useful_from)s, %(share_from)s, %(share_to)s, %(power)s, %(alpha)s, %(design_effect)s, %(votes)s, %(searches)s);

-- name: plan_of
-- The latest one for the same epoch, the same filters and the same meaning of useful.
SELECT plan_id, planned_at, planned_by, project, corpus, surface, epoch, voter, k, useful_from, share_from, share_to,
       power, alpha, design_effect, votes, searches
FROM plans
WHERE epoch = %(epoch)s
  AND project IS NOT DISTINCT FROM %(project)s::text
  AND corpus IS NOT DISTINCT FROM %(corpus)s::text
  AND surface IS NOT DISTINCT FROM %(surface)s::text
  AND useful_from = %(useful_from)s
ORDER BY planned_at DESC, plan_id DESC
LIMIT 1;

-- name: looks
-- At the same other side. A look at votes that were looked at before is no further look.
SELECT votes_a, votes_b, min(looked_at) AS looked_at
FROM plan_looks
WHERE plan_id = %(plan_id)s AND other = %(other)s
GROUP BY votes_a, votes_b
ORDER BY looked_at, votes_a, votes_b;

-- name: write_look
INSERT INTO plan_looks (plan_id, look_id, looked_at, looked_by, other, votes_a, votes_b)
VALUES (%(plan_id)s, %(look_id)s, %(looked_at)s, session_user, %(other)s, %(votes_a)s, %(votes_b)s);

-- name: may_write
SELECT has_table_privilege('plans', 'INSERT') AND has_table_privilege('plan_looks', 'INSERT');

-- name: user
-- Who logged in, and not the group role that the session acts as.
SELECT session_user;
