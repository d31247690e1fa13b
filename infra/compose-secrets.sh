#!/bin/sh
# Generates the passwords that docker-compose.yml reads, in secrets/ or the given folder. Existing files
# stay: if the database already has a password of its owner, write it to owner-password first.
set -eu
folder=${1:-$(dirname "$0")/../secrets}
umask 077
mkdir -p "$folder"
# Only the folder excludes other users: its files are mounted into containers, whose user ids this machine does
# not know.
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
# The content of a file, percent-encoded for a URL: own passwords may have any characters.
encoded() {
  for byte in $(printf '%s' "$(cat "$1")" | od -An -v -tx1); do
    case $byte in
      3[0-9] | 4[1-9a-f] | 5[0-9a] | 6[1-9a-f] | 7[0-9a]) printf "\\$(printf '%03o' "0x$byte")" ;;
      *) printf '%%%s' "$byte" ;;
    esac
  done
}
for name in owner-password serving-password valkey-password admin-token; do
  [ -s "$name" ] || write "$name" "$(random)"
done
write owner-database-url "postgres://plumbline:$(encoded owner-password)@postgres:5432/plumbline"
write database-url "postgres://plumbline_serving:$(encoded serving-password)@postgres:5432/plumbline"
write redis-url "redis://:$(encoded valkey-password)@valkey:6379"
