-- A role for each database, which no other role but `backup` can connect to. PostgreSQL runs this once, on an empty
-- volume. The passwords are in the environment of psql; statements with them are not logged, also where one fails.
\set ON_ERROR_STOP on
SET log_statement = 'none';
SET log_min_error_statement = 'panic';
\getenv dagster_password DAGSTER_PGPASSWORD
\getenv mlflow_password MLFLOW_PGPASSWORD
\getenv backup_password BACKUP_PGPASSWORD

CREATE ROLE dagster LOGIN PASSWORD :'dagster_password';
CREATE ROLE mlflow LOGIN PASSWORD :'mlflow_password';
CREATE ROLE backup LOGIN PASSWORD :'backup_password';
CREATE DATABASE dagster OWNER dagster;
CREATE DATABASE mlflow OWNER mlflow;
REVOKE ALL ON DATABASE dagster, mlflow, postgres FROM PUBLIC;
-- `aflite backup` reads both databases; `aflite restore` writes each as the role that owns it.
GRANT dagster, mlflow TO backup;
