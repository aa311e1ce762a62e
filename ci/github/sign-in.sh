#!/usr/bin/env bash
# Writes the identity token of the job to a file that the cloud SDK reads, so that no key is stored.
set -euo pipefail

fail() {
  printf '::error title=voxform::%s\n' "$1"
  exit 1
}

case $INPUT_STATE_SIGN_IN in
aws) audience=sts.amazonaws.com file=AWS_WEB_IDENTITY_TOKEN_FILE needed=(AWS_ROLE_ARN AWS_REGION) ;;
azure) audience=api://AzureADTokenExchange file=AZURE_FEDERATED_TOKEN_FILE needed=(AZURE_CLIENT_ID AZURE_TENANT_ID) ;;
esac
[[ -n ${ACTIONS_ID_TOKEN_REQUEST_URL:-} ]] || fail 'state-sign-in needs the permission id-token: write in this job'
for name in "${needed[@]}"; do
  [[ -n ${!name:-} ]] || fail "state-sign-in needs $name in env of this job"
done

umask 077
token="$RUNNER_TEMP/voxform-identity"
# In a config file, because other processes can read the arguments.
curl --config - --fail --silent --show-error --retry 3 --get --data-urlencode "audience=$audience" \
  "$ACTIONS_ID_TOKEN_REQUEST_URL" <<<"header = \"Authorization: bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN\"" |
  sed -n 's/.*"value" *: *"\([^"]*\)".*/\1/p' | tr -d '\n' >"$token"
[[ -s $token ]] || fail 'GitHub did not issue a token for this job'
printf '%s=%s\n' "$file" "$token" >>"$GITHUB_ENV"
