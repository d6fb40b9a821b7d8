// A sign-in from registration to sign-out with a client by oapi-codegen. Asks for the code on standard output, reads it
// from standard input, and prints what happened.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"chiron/clients/chiron"

	"github.com/oapi-codegen/oapi-codegen/v2/pkg/securityprovider"
	"github.com/oapi-codegen/runtime/types"
)

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	baseURL, email := os.Args[1], types.Email(os.Args[2])
	client, err := chiron.NewClientWithResponses(baseURL)
	check(err)

	registered, err := client.RegisterVeterinarianWithResponse(ctx, chiron.Registration{Firstname: "Ada", Lastname: "Marsh", Email: email})
	check(err)
	french := chiron.AcceptLanguage("fr")
	sent, err := client.SendVeterinarianCodeWithResponse(ctx, &chiron.SendVeterinarianCodeParams{AcceptLanguage: &french}, chiron.CodeRequest{Email: email})
	check(err)
	answer := chiron.CodeAnswer{Email: email, SessionId: sent.JSON202.SessionId, OtpCode: 99_999_999}
	wrong, err := client.ValidateVeterinarianCodeWithResponse(ctx, nil, answer)
	check(err)
	fmt.Println("code?")
	_, err = fmt.Scan(&answer.OtpCode)
	check(err)
	validated, err := client.ValidateVeterinarianCodeWithResponse(ctx, nil, answer)
	check(err)
	refreshed, err := client.RefreshSessionWithResponse(ctx, chiron.RefreshRequest{RefreshToken: validated.JSON200.RefreshToken})
	check(err)

	bearer, err := securityprovider.NewSecurityProviderBearerToken(refreshed.JSON200.AccessToken)
	check(err)
	me, err := client.GetOwnVeterinarianWithResponse(ctx, bearer.Intercept)
	check(err)
	out, err := client.EndSessionWithResponse(ctx, bearer.Intercept)
	check(err)
	after, err := client.GetOwnVeterinarianWithResponse(ctx, bearer.Intercept)
	check(err)

	statuses := []int{}
	for _, reply := range []interface{ StatusCode() int }{registered, sent, wrong, validated, refreshed, me, out, after} {
		statuses = append(statuses, reply.StatusCode())
	}
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"statuses":     statuses,
		"attemptsLeft": wrong.ApplicationproblemJSON401.AttemptsLeft,
		"email":        me.JSON200.Email,
		"code":         after.ApplicationproblemJSON401.Code,
	}))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
