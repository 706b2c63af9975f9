import { X509Certificate } from 'node:crypto';
import type { ClientCertificate } from '../../src/access/authenticator.ts';

/** A moment at which both certificates are valid. */
export const DURING = Date.parse('2030-01-01T00:00:00.000Z');

/**
 * Subject C=US, O="Acme, Inc + y=z", CN=öps. Names: DNS Ops.Example, URI spiffe://acme/ops, email ops@acme.example, IP
 * 10.0.0.1 and 2001:db8::1, and three that try to pass for others: DNS "evil, DNS:admin.example", URI "spiffe://acme/x,
 * URI:spiffe://acme/admin", and an otherName "DNS:admin.example". Made with openssl; valid from 2026 to 2126.
 */
const MANY_NAMES = `
-----BEGIN CERTIFICATE-----
MIICUTCCAfegAwIBAgIURp+/a2Wy1crfIglWJZ2GORYmqpcwCgYIKoZIzj0EAwIw
NjELMAkGA1UEBhMCVVMxGDAWBgNVBAoMD0FjbWUsIEluYyArIHk9ejENMAsGA1UE
AwwEw7ZwczAgFw0yNjExMjEwNTUwNThaGA8yMTI2MTAyODA1NTA1OFowNjELMAkG
A1UEBhMCVVMxGDAWBgNVBAoMD0FjbWUsIEluYyArIHk9ejENMAsGA1UEAwwEw7Zw
czBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABHAadHjdEAaITSw/lsXRzyq6zrDh
3FXgHsV4AZy+DxlloN/r1MDooKpu1j3ihFjvnYGRPYOUG96MoBqXD8nD4tCjgeAw
gd0wgbsGA1UdEQSBszCBsIILT3BzLkV4YW1wbGWGEXNwaWZmZTovL2FjbWUvb3Bz
gRBvcHNAYWNtZS5leGFtcGxlhwQKAAABhxAgAQ24AAAAAAAAAAAAAAABghdldmls
LCBETlM6YWRtaW4uZXhhbXBsZYYoc3BpZmZlOi8vYWNtZS94LCBVUkk6c3BpZmZl
Oi8vYWNtZS9hZG1pbqAhBgorBgEEAYI3FAIDoBMMEUROUzphZG1pbi5leGFtcGxl
MB0GA1UdDgQWBBRkeX/+j9Vx/2uEEwfUtWKEv40lATAKBggqhkjOPQQDAgNIADBF
AiBbSFhZlqtvng376KNeGpy2jFleSel8G0LhBilNazAa/QIhANqeKXd90E0hDqH/
Wp5aUHkO/fQCYjKx+YGXQ7ss+2bO
-----END CERTIFICATE-----
`;

/** No subject; the one name is DNS nobody.example. */
const NO_SUBJECT = `
-----BEGIN CERTIFICATE-----
MIIBQjCB6aADAgECAhQOCtwOXb3+MTypFqapT2JXO0T8oTAKBggqhkjOPQQDAjAA
MCAXDTI2MTEyMTA1NTA1OFoYDzIxMjYxMDI4MDU1MDU4WjAAMFkwEwYHKoZIzj0C
AQYIKoZIzj0DAQcDQgAEdnfR7mb8GjSFCs4o+Rg9GHscbuMXQYHUNvDj/zv2Byu5
XJXZeLMC9OT17mPRZWXw6jAvAh1KpzkVf+rxaRpuaaM/MD0wHAYDVR0RAQH/BBIw
EIIObm9ib2R5LmV4YW1wbGUwHQYDVR0OBBYEFIGtAXYJ8xMRdafKhEuqEz2qj+bc
MAoGCCqGSM49BAMCA0gAMEUCIEgFMYMJxwnNZqDCO9+GAJ3aN3i6wOan8gQlxSR0
sIX+AiEAi/FvXkri56GPYRGiykRk3Mgd3HobjRv0pRyxlUq7bSo=
-----END CERTIFICATE-----
`;

/** As TLS hands it over once it was found valid. */
const shown = (pem: string): ClientCertificate => ({ certificate: new X509Certificate(pem), authorized: true });

export const manyNames = shown(MANY_NAMES);
export const noSubject = shown(NO_SUBJECT);
