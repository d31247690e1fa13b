#!/bin/sh
# Makes the passwords that docker-compose.yml reads, in secrets/ or the folder that is named. What is there
# stays: for a database that has its owner's password already, write that to owner-password first.
set -eu
folder=${1:-$(dirname "$0")/../secrets}
umask 077
mkdir -p "$folder"
# The folder keeps others of this machine out. The files themselves are mounted into containers, whose users
# have numbers that this machine does not know.
chmod 700 "$folder"
cd "$folder"

random() {
  head -c 24 /dev/urandom | od -An -v -tx1 | tr -d ' \n'
}
write() {
  printf '%s\n' "$2" >"$1.new"
  chmod 644 "$1.new"
  mv "$1.new" "$1"
}
for name in owner-password serving-password valkey-password; do
  [ -s "$name" ] || write "$name" "$(random)"
done
write owner-database-url "postgres://plumbline:$(cat owner-password)@postgres:5432/plumbline"
write database-url "postgres://plumbline_serving:$(cat serving-password)@postgres:5432/plumbline"
write redis-url "redis://:$(cat valkey-password)@valkey:6379"
