#!/bin/bash
# Gives each service a database and a role of its own, which reaches no other.
# PostgreSQL's image runs it once, when its volume is new.
set -eu

as_admin() { psql -v ON_ERROR_STOP=1 -q --no-psqlrc -U "${POSTGRES_USER:-postgres}" -d postgres "$@"; }

for service in booking seats payments; do
  password=${service^^}_DB_PASSWORD
  as_admin -v name="$service" -v password="${!password:?is not set}" <<'SQL'
CREATE ROLE :"name" LOGIN PASSWORD :'password';
CREATE DATABASE :"name" OWNER :"name" ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE :"name" FROM PUBLIC;
SQL
done
as_admin <<'SQL'
REVOKE ALL ON DATABASE postgres, template1 FROM PUBLIC;
SQL
