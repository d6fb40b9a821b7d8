// A web application made with go-oidc: signs in, checks the ID token, reads who it is and refreshes.
// Reads the address to which the browser came back from standard input.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net/url"
	"os"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	provider, err := oidc.NewProvider(ctx, os.Getenv("ISSUER"))
	check(err)
	config := oauth2.Config{
		ClientID:     os.Getenv("CLIENT_ID"),
		ClientSecret: os.Getenv("CLIENT_SECRET"),
		RedirectURL:  os.Getenv("REDIRECT_URI"),
		Endpoint:     provider.Endpoint(),
		Scopes:       []string{oidc.ScopeOpenID, "profile", "email"},
	}
	verifier, state, nonce := oauth2.GenerateVerifier(), oauth2.GenerateVerifier(), oauth2.GenerateVerifier()
	fmt.Println(config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oidc.Nonce(nonce)))

	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	check(err)
	back, err := url.Parse(strings.TrimSpace(line))
	check(err)
	if back.Query().Get("state") != state {
		log.Fatal("the state is another")
	}
	token, err := config.Exchange(ctx, back.Query().Get("code"), oauth2.VerifierOption(verifier))
	check(err)
	raw, _ := token.Extra("id_token").(string)
	idToken, err := provider.Verifier(&oidc.Config{ClientID: config.ClientID}).Verify(ctx, raw)
	check(err)
	if idToken.Nonce != nonce {
		log.Fatal("the nonce is another")
	}
	info, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	check(err)
	if info.Subject != idToken.Subject {
		log.Fatal("the subject is another")
	}
	refreshed, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
	check(err)
	if refreshed.AccessToken == token.AccessToken {
		log.Fatal("the token is the same")
	}
	fmt.Println("Hello", info.Email)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
