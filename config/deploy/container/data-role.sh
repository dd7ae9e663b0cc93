#!/bin/sh
# Run by the image of PostgreSQL when it makes the database: the role that plugins write data as, and its schema.
set -e
psql --set ON_ERROR_STOP=1 --set password="$DATA_DB_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
create role longshore_data login password :'password';
create schema alpha_data authorization longshore_data;
SQL
