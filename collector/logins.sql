-- Logins for compose.yaml, by psql 15 or newer: one that collects, one for Grafana, one for applications. Passwords come from the
-- environment and are set anew each time, so a changed one in .env holds after the next start.

SET client_min_messages = warning; -- the second time it would say of each membership that it is there
\getenv collector_password COLLECTOR_DB_PASSWORD
\getenv grafana_password GRAFANA_DB_PASSWORD
\getenv app_password APP_DB_PASSWORD

SELECT format('CREATE ROLE %I LOGIN', name)
FROM unnest(ARRAY['collect', 'grafana', 'app']) AS of(name)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name)
\gexec

ALTER ROLE collect PASSWORD :'collector_password';
ALTER ROLE grafana PASSWORD :'grafana_password';
ALTER ROLE app PASSWORD :'app_password';
GRANT ragledger_collector TO collect;
GRANT ragledger_reader TO grafana;
GRANT ragledger_writer TO app;

-- A dashboard must not hold up the database.
ALTER ROLE grafana SET default_transaction_read_only = on;
ALTER ROLE grafana SET statement_timeout = '30s';
ALTER ROLE grafana SET search_path = ragledger;
ALTER ROLE grafana CONNECTION LIMIT 20;
