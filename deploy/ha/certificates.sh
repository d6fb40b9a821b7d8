#!/bin/sh
# certificates.sh NAME=ADDRESS …: makes your own authority (ca.crt, ca.key) in the current folder, and a certificate for each
# machine (NAME.crt, NAME.key). They are valid for ten years. Keep ca.key offline.
set -eu
umask 077
new='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650'
test -e ca.key || openssl req -x509 $new -subj '/CN=Chiron database' -keyout ca.key -out ca.crt
for machine in "$@"; do
  name=${machine%%=*}
  # Chiron reaches the server through HAProxy, at 127.0.0.1.
  openssl req -x509 $new -CA ca.crt -CAkey ca.key -subj "/CN=$name" -keyout "$name.key" -out "$name.crt" \
    -addext "subjectAltName=DNS:$name,IP:${machine#*=},IP:127.0.0.1" -addext basicConstraints=critical,CA:FALSE
done
chmod 644 ./*.crt
