//go:build !linux

package main

import "errors"

func alone(string, []string) ([]byte, error) { return nil, errors.ErrUnsupported }
